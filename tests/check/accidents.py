"""More mechanisms that break the contract: lines that a colleague forgot first, then what takes some malice.

Each says which clause must catch it. What is known not to be caught stands at the end of the last.
"""

import accidents_channels
import accidents_files
import accidents_malice

FAMILIES = (accidents_files, accidents_channels, accidents_malice)
