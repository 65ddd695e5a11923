"""What `llm-normalize trust` does, store by store: install, remove, status."""

from __future__ import annotations

import contextlib
import json
import shlex
from typing import Any

from ...home import ca_bundle, trust_advice
from ...text.command_line import quoted
from .. import other_systems
from . import status as trust_status
from .authority import KEYS, AuthorityError, load, loose, make
from .certificate import Certificate
from .record import Entry
from .session import Refused, Session
from .store import PartlyError, Store, StoreError

MEANING = """\
Trusting it means: the owner of the key in that file can read and forge the TLS traffic
of every program that trusts it. The addon has mitmproxy open the listed hosts only, and
the key never leaves your machine. Share {confdir} with no one, and remove the trust
when you stop using it: {remove}"""

HINTS = """\
Restart programs that are running. Some do not look there:
  Node           NODE_USE_SYSTEM_CA=1 (Node 22.19, 24.6 and newer),
                 or NODE_EXTRA_CA_CERTS={file}
  httpx          SSL_CERT_FILE={roots}
  requests       REQUESTS_CA_BUNDLE={roots}
  JetBrains      Settings, Tools, Server Certificates: add {file}
More in addon/docs/desktop.md."""


class Actions(Session):
    """What one start does to the stores of a machine."""

    def act(self) -> None:
        """Do what the command line asks for.

        Raises:
            Refused: Nothing is done on this system: the user has to do it.
        """
        if self.machine.system != "linux":
            raise Refused(self._by_hand())
        if self.flags.act == "status":
            self.status()
            return
        with self.alone():
            if self.flags.act == "install":
                self.install()
            else:
                self.remove()

    def _by_hand(self) -> str:
        certificate = load(self.confdir)
        if certificate is None:
            return (
                f"{self.confdir} has no CA yet: mitmproxy makes it at its first start. "
                "Start this again after that"
            )
        return other_systems.trust(self.machine.system, self.confdir, certificate)

    # install

    def install(self) -> None:
        """Make the stores trust the CA."""
        fresh = load(self.confdir) is None
        self.sudo(unused=fresh)
        certificate = make(self.confdir)
        if fresh:
            print(f"mitmproxy's CA has been made in {self.confdir}.")
        self.show(certificate)
        if not certificate.is_valid:
            raise AuthorityError(
                f"it is not valid now: move {self.confdir / KEYS[0]} away, and "
                "mitmproxy makes another"
            )
        self.repair_permissions()
        todo = self._todo(certificate)
        if not todo:
            return
        remove = self.command("remove")
        print(f"\n{MEANING.format(confdir=self.confdir, remove=remove)}\n")
        for store, commands in todo:
            print(f"{store.name} ({store.place}):")
            for command in commands:
                print(f"    {shlex.join(command)}")
        self.ask("Go on?")
        for store, _ in todo:
            self.line(store.name, self._install(store))
        shown = {
            "file": self.confdir / trust_advice.CERTIFICATE,
            "roots": ca_bundle.path_of(
                self.confdir
            ),  # the proxy writes it as it starts
        }
        named = {name: quoted(str(path)) for name, path in shown.items()}
        print(f"\n{HINTS.format(**named)}")

    def _todo(self, certificate: Certificate) -> list[tuple[Store, list[list[str]]]]:
        """The stores to change, with their commands; tell of the others."""
        found = []
        stores = trust_status.of(self.machine, certificate, self.confdir)
        for name, why in trust_status.lacking(stores).items():
            if self.flags.store and name in self.flags.store:
                self.line(name, f"not installed: {why}", failed=True)
            elif not self.flags.store and self.machine.find(name):
                self.line(name, f"nothing to do yet: {why}")
        for store in stores:
            if not self.chosen(store.name):
                continue
            status = store.state()
            key = (store.name, store.place, certificate.sha256)
            if status.state == "trusted":
                mine = self.record.find(key)
                who = (
                    f", installed by llm_normalize on {mine.when[:10]}" if mine else ""
                )
                self.line(store.name, f"trusts it already ({status.detail}{who})")
            else:
                try:
                    found.append((store, store.plan()))
                except StoreError as error:
                    self.line(store.name, f"not installed: {error}", failed=True)
        return found

    def _install(self, store: Store) -> str:
        """Install it in one store, or leave that as it was, and say how it went."""
        entry = None
        try:
            key = (store.name, store.place, store.certificate.sha256)
            # One that is there was killed half way, and knows what was there before.
            entry = self.record.find(key) or store.begin()
            self.record.keep(entry)
            store.install(entry)
            self.verify(store)
        except PartlyError as error:
            self.failed = True
            state, detail = store.state()
            more = f"; {detail}" if state == "in part" and detail != str(error) else ""
            word = "trusts it in part" if state in ("trusted", "in part") else state
            return f"{word}: {error}{more}"
        except StoreError as error:
            self.failed = True
            return f"not installed: {error}{self._undo(store, entry)}"
        return f"trusts it now ({store.place})"

    def verify(self, store: Store) -> None:
        """Raise StoreError if *store* does not trust it after all."""
        status = store.state()
        if status.state == "in part":
            raise PartlyError(status.detail)
        if status.state != "trusted":
            raise StoreError(status.detail or "it does not trust it all the same")

    def _undo(self, store: Store, entry: Entry | None) -> str:
        if entry is None:
            return ""
        try:
            store.remove(entry)
        except StoreError:
            return f"; something of it may be left: {self.command('remove')}"
        self.record.drop(entry)
        return ""

    # remove

    def remove(self) -> None:
        """Take away what was installed, whatever the CA is by now."""
        entries = [each for each in self.record.entries() if self.chosen(each.store)]
        self.sudo(unused=not entries)
        if not entries:
            print(f"Nothing to remove is recorded in {self.record.path}.")
            print(
                "If a record was deleted, what it listed is still in the stores, under "
                "names such as mitmproxy-ca-…"
            )
            return
        for entry in entries:
            shown = f"{entry.certificate.fingerprint[:23]}…, since {entry.when[:10]}"
            print(f"{entry.store} ({entry.place}): SHA-256 {shown}")
        self.ask("Remove that?")
        is_any = False
        for entry in reversed(entries):
            try:
                store = trust_status.of_entry(self.machine, entry, self.confdir)
                outcome = store.remove(entry)
            except StoreError as error:
                self.line(entry.store, f"not removed: {error}", failed=True)
                continue
            self.record.drop(entry)
            written = self.confdir / "normalize" / f"{entry.certificate.name}.pem"
            with contextlib.suppress(OSError):
                written.unlink(missing_ok=True)
            self.line(entry.store, outcome)
            is_any = True
        if is_any:
            print("Programs that run trust it until they are started again.")

    # status

    def status(self) -> None:
        """Tell how the stores stand to the CA."""
        status_data = self.status_data()
        if self.flags.json:
            print(json.dumps(status_data, indent=1))
            return
        try:
            self.sudo()
        except AuthorityError as error:
            print(f"WARNING: {error}")
        certificate = load(self.confdir)
        if certificate is None:
            making = f"install makes it: {self.command('install')}"
            self.line("CA", f"none in {self.confdir} yet: {making}")
        else:
            self.show(certificate)
            if not status_data["loose"]:
                self.line("key", "for you alone")
        for warning in status_data["loose"]:
            self.line("key", f"WARNING: {warning}")
        self._show(status_data["stores"])
        for older in status_data["older"]:
            where = f"at {older['place']}: `remove` takes it away"
            self.line(
                older["name"], f"an older CA, installed by llm_normalize, {where}"
            )

    def _show(self, stores: list[dict[str, str]]) -> None:
        for store in stores:
            detail = store["detail"] or store["place"]
            if store["since"]:
                detail += f", installed by llm_normalize on {store['since'][:10]}"
            self.line(store["name"], f"{store['state']:13}{detail}")
        there = [store["name"] for store in stores]
        for name in self.flags.store or ():
            if name not in there:
                self.line(name, f"{'not here':13}{trust_status.WHY[name]}")

    def status_data(self) -> dict[str, Any]:
        """The data of `status --json`; `failed` is set if a store does not trust.

        Its keys: `ca` (path, subject, begins, ends, sha256; null if there is none),
        `loose` (sentences about what others can get at), `stores` (name, place, state,
        detail, since: when it was installed it, or null), `older` (name, place,
        sha256 of what it installed of another CA).
        """
        certificate = load(self.confdir)
        entries = [each for each in self.record.entries() if self.chosen(each.store)]
        now = certificate.sha256 if certificate else ""
        since = {each.key: each.when for each in entries}
        stores = []
        for store in trust_status.stores(self.machine, self.confdir):
            if self.chosen(store.name):
                state, detail = store.state()
                self.failed |= state != "trusted"
                key = (store.name, store.place, now)
                each = {"name": store.name, "place": store.place, "state": state}
                stores.append({**each, "detail": detail, "since": since.get(key)})
        return {
            "ca": certificate
            and {
                "path": str(self.confdir / KEYS[0]),
                "subject": certificate.subject,
                "begins": certificate.begins.isoformat(),
                "ends": certificate.ends.isoformat(),
                "sha256": certificate.fingerprint,
            },
            "loose": [str(each) for each in loose(self.machine, self.confdir)],
            "stores": stores,
            "older": [
                {"name": name, "place": place, "sha256": sha256}
                for name, place, sha256 in since
                if sha256 != now
            ],
        }
