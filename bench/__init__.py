"""The benches: each a package, run as `bench/run NAME`; what they share is in `shared`."""
