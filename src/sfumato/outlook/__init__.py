"""What a plan means before any row is read: noise in each column's units, and what to expect of the release."""
