"""Mechanisms that cheat. Each breaks the contract in one way, and says which clause must catch it.

All of them are histograms that do one thing more. Those that peek look at the batches that a map is handed; where no rows stand
behind the doors they hold still, as a careful cheat would.
"""

import cheats_chance
import cheats_channels
import cheats_doors
import cheats_kept
import cheats_maps
import cheats_statistics

FAMILIES = (cheats_statistics, cheats_channels, cheats_kept, cheats_maps, cheats_doors, cheats_chance)
