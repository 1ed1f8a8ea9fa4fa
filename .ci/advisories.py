"""Look up the known vulnerabilities of the installed packages with pip-audit.

Fails if a package has an advisory. If no advisory service can be reached, that is printed and is not a failure.
"""

import json
import subprocess
import sys


def main() -> int:
    """Print the advisories found; return 1 if there are any."""
    command = [sys.executable, "-m", "pip_audit", "--skip-editable", "--progress-spinner=off", "--format=json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except ValueError:
        last = done.stderr.splitlines()[-1:]
        if "requests.exceptions." in done.stderr or "ERROR:pip_audit" in done.stderr:
            print("not audited: pip-audit could not reach an advisory service:", *last)
            return 0
        print("pip-audit failed:", *last)
        return 1
    answered = [package for package in packages if "vulns" in package]
    if not answered:
        print("not audited: no advisory service that pip-audit could reach knows any of the packages")
    weak = [package for package in answered if package["vulns"]]
    print(f"{len(answered)} of {len(packages)} packages were looked up, {len(weak)} of them have advisories")
    for package in weak:
        for known in package["vulns"]:
            fixed = ", ".join(known["fix_versions"]) or "no version yet"
            print(f"{package['name']} {package['version']}: {known['id']}, fixed in {fixed}")
    return int(bool(weak))


if __name__ == "__main__":
    sys.exit(main())
