"""Running a model: the reference interpreters, and what is compared with them."""
