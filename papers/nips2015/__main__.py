"""python -m papers.nips2015 toy | tenk | nips [--quick] [--seeds N] [--out FOLDER]"""

from papers.common import command_line
from papers.nips2015 import nips, tenk, toy

if __name__ == "__main__":
    command_line("nips2015", {"toy": toy.main, "tenk": tenk.main, "nips": nips.main})
