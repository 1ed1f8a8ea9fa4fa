"""Look up the known weaknesses of the packages that are installed here, by pip-audit.

Fails if one has an advisory. Where no service of advisories can be asked, says so, and is no failure.
"""

import json
import subprocess
import sys


def main() -> int:
    """Print what was found; return 1 if a package has an advisory."""
    command = [sys.executable, "-m", "pip_audit", "--skip-editable", "--progress-spinner=off", "--format=json"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        packages = json.loads(told.stdout)["dependencies"]
    except ValueError:
        last = told.stderr.splitlines()[-1:]
        if "requests.exceptions." in told.stderr or "ERROR:pip_audit" in told.stderr:
            print("not audited: pip-audit could ask no service of advisories:", *last)
            return 0
        print("pip-audit failed:", *last)
        return 1
    answered = [package for package in packages if "vulns" in package]
    if not answered:
        print("not audited: no service of advisories that pip-audit could ask knows any of the packages")
    weak = [package for package in answered if package["vulns"]]
    print(f"{len(answered)} of {len(packages)} packages were looked up, {len(weak)} of them have advisories")
    for package in weak:
        for known in package["vulns"]:
            mended = ", ".join(known["fix_versions"]) or "no version yet"
            print(f"{package['name']} {package['version']}: {known['id']}, mended in {mended}")
    return int(bool(weak))


if __name__ == "__main__":
    sys.exit(main())
