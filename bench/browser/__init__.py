"""What lowtide takes in a browser, beside CPython."""
