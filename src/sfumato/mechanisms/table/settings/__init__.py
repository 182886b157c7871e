"""Every number that the table method is tuned by, as fields of frozen dataclasses: nothing else in this room holds one."""
