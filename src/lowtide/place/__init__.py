"""Where in the arena each tensor goes: allocators, and the validator that checks them all."""
