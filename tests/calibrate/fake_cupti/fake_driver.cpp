// A driver with which nothing works but that it is there.
