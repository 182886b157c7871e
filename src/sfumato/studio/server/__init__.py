"""The server around the pages: the application, its socket, and its patience."""
