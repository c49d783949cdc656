"""How a body is taken apart, by names and by shape, so that bones of two bodies can be matched."""
