"""Django: check, migrate, inspectdb, the ORM's queries, fixtures, transactions, locks."""

from __future__ import annotations

import datetime
import io
import os
import sys
import uuid

os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
import django  # noqa: E402

django.setup()
from django.core import management  # noqa: E402
from django.contrib.auth.models import Group, Permission, User  # noqa: E402
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402
from django.db import DatabaseError, IntegrityError, connection, models, transaction  # noqa: E402
from django.db.models import functions as f  # noqa: E402
from django.db.models import Avg, Case, Count, Exists, F, Max, Min, OuterRef, Prefetch, Q  # noqa: E402
from django.db.models import StdDev, Subquery, Sum, Value, When, Window  # noqa: E402
from library.models import Author, Book, Label  # noqa: E402
from show import show  # noqa: E402

UTC = datetime.timezone.utc
MADE = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def said(*command, **more) -> list[str]:
    """What a command of Django prints."""
    out = io.StringIO()
    management.call_command(*command, stdout=out, no_color=True, **more)
    return out.getvalue().splitlines()


def schema() -> None:
    show("checked", said("check", database=["default"]))
    show("not migrated", sum("[ ]" in line for line in said("showmigrations")))
    show("migrated", said("migrate", verbosity=1)[-3:])
    show("migrated again", said("migrate", verbosity=1)[-1:])
    show("back", said("migrate", "library", "0001", verbosity=1)[-1:])
    show("forth", said("migrate", "library", verbosity=1)[-1:])
    show("changes", said("makemigrations", check_changes=True, dry_run=True))
    show("not migrated now", sum("[ ]" in line for line in said("showmigrations")))
    for line in said("inspectdb"):
        # The first lines are Django's advice.
        if line.startswith(("class ", "    ")):
            show("inspectdb", line)
    with connection.cursor() as cursor:
        look = connection.introspection
        show("tables", sorted(look.table_names(cursor)))
        show("constraints", {name: {key: found[key] for key in ("columns", "primary_key", "unique", "foreign_key",
                                                                "check", "index")}
                             for name, found in look.get_constraints(cursor, "library_book").items()})
        show("relations", look.get_relations(cursor, "library_book"))
        show("sequences", look.get_sequences(cursor, "library_book"))
    management.call_command("createcachetable", "kept", verbosity=0)


def write() -> None:
    ada = Author.objects.create(name="Ada", email="ada@example.com", born="1815-12-10", settings={"a": [1], "b": "x"})
    Author.objects.bulk_create([Author(name="Grüße 😀", active=False), Author(name="none")])
    show("key", ada.pk)
    Label.objects.bulk_create([Label(word="old"), Label(word="new"), Label(word="red")])
    Label.objects.bulk_create([Label(word="old"), Label(word="blue")], ignore_conflicts=True)
    Book.objects.bulk_create([
        Book(title=f"title {at}", author_id=1 + at % 2, price=f"{(at * 137) % 1000 / 4}", weight=at / 8, pages=at,
             made=MADE + datetime.timedelta(days=at, hours=at), at=datetime.time(at % 24, 30),
             span=datetime.timedelta(minutes=at), raw=bytes([at, 0, 255]), mark=uuid.UUID(int=at),
             note="" if at % 3 else f"note {at}") for at in range(120)], batch_size=50)
    Book.objects.get(pk=1).labels.add("old", "red")
    Book.objects.get(pk=2).labels.set(["new"])
    for what, work in (("a duplicate", lambda: Author.objects.create(name="x", email="ada@example.com")),
                       ("no parent", lambda: Book.objects.create(title="x", author_id=99, made=MADE)),
                       ("no check", lambda: Book.objects.create(title="x", author_id=1, made=MADE, weight=-1))):
        try:
            with transaction.atomic():
                work()
            show(what, "no error")
        except (IntegrityError, DatabaseError) as error:
            show(what, [type(error).__name__, error.args[0]])
    found, made = Author.objects.get_or_create(name="found", defaults={"active": False})
    show("got or made", [found.pk, made, Author.objects.get_or_create(name="found")[1]])
    show("updated or made", Author.objects.update_or_create(name="found", defaults={"born": "2000-01-01"})[1])
    Author.objects.bulk_create([Author(id=1, name="Ada L", email="ada@example.com", settings={"b": "x"})],
                               update_conflicts=True, update_fields=["name", "settings"])
    show("updated", Book.objects.filter(pages__lt=10).update(pages=F("pages") + 1, note=f.Concat("note", Value("!"), output_field=models.TextField())))
    show("of a relation", Book.objects.filter(author__active=False, pages__gt=115).update(price=None))
    show("deleted", Book.objects.filter(pages=119).delete())
    books = list(Book.objects.filter(pages__gt=110))
    for book in books:
        book.weight += 1
    show("bulk update", Book.objects.bulk_update(books, ["weight"]))
    with transaction.atomic():
        Author.objects.create(name="in a transaction")
        try:
            with transaction.atomic():
                Author.objects.create(name="in a savepoint")
                raise ValueError("back")
        except ValueError as error:
            show("inner", str(error))
        show("held", list(Book.objects.select_for_update(skip_locked=True).filter(pk__lt=4)
                          .order_by("pk").values_list("pk", flat=True)))
    try:
        with transaction.atomic():
            Book.objects.all().delete()
            raise ValueError("all back")
    except ValueError as error:
        show("outer", str(error))
    user = User.objects.create_user("someone", "someone@example.com", "a password")
    user.groups.add(Group.objects.create(name="readers"))
    user.groups.first().permissions.set(Permission.objects.filter(codename__startswith="view_"))
    session = SessionStore(session_key="k" * 32)
    session["kept"] = 1
    session.save(must_create=False)
    fixture = io.StringIO()
    management.call_command("dumpdata", "library.label", "library.author", stdout=fixture)
    Label.objects.filter(word="blue").delete()
    path = os.path.join(os.environ["PELORUS_FOLDER"], "fixture.json")
    with open(path, "w") as file:
        file.write(fixture.getvalue())
    management.call_command("loaddata", path, verbosity=0)
    show("loaded", Label.objects.count())


def rows(found) -> list:
    """Rows of a query as lists."""
    return [list(row) for row in found]


def of_books() -> None:
    books = Book.objects.order_by("pk")
    show("one", Book.objects.filter(pk=7).values()[0])
    show("aggregate", Book.objects.aggregate(Count("id"), Sum("price"), Avg("weight"), Min("made"), Max("title"),
                                             StdDev("pages"), n=Count("author", distinct=True),
                                             few=Count("id", filter=Q(pages__lt=20)), spans=Sum("span")))
    show("annotate", rows(Author.objects.annotate(n=Count("books"), total=Sum("books__price"),
                                                  last=Max("books__made")).filter(n__gte=0).order_by("pk")
                          .values_list("pk", "n", "total", "last")))
    show("values", rows(Book.objects.values("author__name").annotate(n=Count("id"), mean=Avg("price"))
                        .filter(n__gt=1).order_by("author__name").values_list("author__name", "n", "mean")))
    show("Q", rows(books.filter(Q(note="") & (Q(pages__range=(10, 20)) | ~Q(author__active=True)),
                                price__isnull=False).exclude(title__endswith="7").values_list("pk", "title")[:12]))
    show("Exists", rows(Author.objects.annotate(dear=Exists(Book.objects.filter(author=OuterRef("pk"), price__gt=240)))
                        .order_by("pk").values_list("pk", "dear")))
    show("only Exists", rows(Author.objects.filter(~Exists(Book.objects.filter(author=OuterRef("pk"))))
                             .order_by("pk").values_list("pk", "name")))
    newest = Book.objects.filter(author=OuterRef("pk")).order_by("-made").values("title")[:1]
    show("Subquery", rows(Author.objects.annotate(newest=Subquery(newest)).order_by("pk").values_list("pk", "newest")))
    show("in", rows(books.filter(author__in=Author.objects.filter(active=False)).values_list("pk")[:5]))
    show("Window", rows(books.filter(pages__lt=15).annotate(
        at_author=Window(f.RowNumber(), partition_by="author", order_by=F("made").desc()),
        rank=Window(f.Rank(), order_by="weight"), before=Window(f.Lag("pages"), order_by="id"),
        running=Window(Sum("pages"), order_by="id")).values_list("pk", "at_author", "rank", "before", "running")))
    show("filtered Window", rows(books.annotate(n=Window(f.RowNumber(), partition_by="author", order_by="id"))
                                 .filter(n__lte=2).values_list("pk", "n")))
    show("Case", rows(books.annotate(size=Case(When(pages__lt=40, then=Value("small")),
                                               When(pages__lt=80, then=Value("middle")), default=Value("large")))
                      .values("size").annotate(n=Count("pk")).order_by("size").values_list("size", "n")))
    show("labels", rows(Book.objects.filter(labels__word__in=["red", "new"]).distinct().order_by("pk")
                        .values_list("pk", "labels__word")))
    show("union", rows(Author.objects.filter(pk=1).values_list("name").union(
        Label.objects.values_list("word"), all=True).order_by("name")))
    show("in bulk", sorted(Label.objects.in_bulk(["old", "new"])))
    show("joined", [[book.pk, book.author.name, [label.word for label in book.labels.all()]] for book in
                    books.select_related("author").prefetch_related(Prefetch("labels", Label.objects.order_by("word")))[:3]])
    show("fields of a JSON", rows(Author.objects.filter(settings__b="x").values_list("pk")))
    show("regex", rows(books.filter(title__regex=r"^title 1[0-3]$").values_list("title")))
    show("like", [books.filter(title__icontains="TITLE 1").count(), books.filter(title__contains="TITLE").count(),
                  books.filter(title__startswith="title 3").count(), books.filter(title__iexact="TITLE 3").count()])
    show("exists", [books.filter(pages=5).exists(), books.filter(pages=5000).exists()])
    show("iterator", sum(book.pages for book in books.iterator(chunk_size=30)))
    show("raw", [book.title for book in Book.objects.raw(
        "SELECT id, title FROM library_book WHERE pages > %s ORDER BY id LIMIT 2", [50])])
    show("extra", rows(books.values_list("pk").filter(mark=uuid.UUID(int=3))))
    show("explain", bool(books.filter(pages=1).explain()))


def of_dates() -> None:
    show("dates", [list(map(str, Book.objects.dates("made", kind))) for kind in ("year", "month")])
    show("datetimes", list(map(str, Book.objects.datetimes("made", "week", tzinfo=UTC)))[:4])
    for name in ("Year", "Quarter", "Month", "Week", "Day", "Hour", "Minute", "Second"):
        trunc = getattr(f, f"Trunc{name}")
        show(f"Trunc{name}", rows(Book.objects.annotate(t=trunc("made", tzinfo=UTC)).values("t").annotate(
            n=Count("pk")).order_by("t").values_list("t", "n")[:5]))
    show("TruncDate", rows(Book.objects.annotate(t=f.TruncDate("made"), u=f.TruncTime("made")).order_by("pk")
                           .values_list("t", "u")[:3]))
    show("Extract", rows(Book.objects.annotate(
        y=f.ExtractYear("made"), i=f.ExtractIsoYear("made"), q=f.ExtractQuarter("made"), m=f.ExtractMonth("made"),
        w=f.ExtractWeek("made"), d=f.ExtractWeekDay("made"), e=f.ExtractIsoWeekDay("made"), h=f.ExtractHour("made"),
        s=f.ExtractSecond("made")).order_by("pk").values_list("y", "i", "q", "m", "w", "d", "e", "h", "s")[::25]))
    show("lookups", [Book.objects.filter(made__year=2026, made__month=2).count(),
                     Book.objects.filter(made__date="2026-01-05").count(), Book.objects.filter(made__week=4).count(),
                     Book.objects.filter(made__week_day=2).count(), Book.objects.filter(at__hour=5).count(),
                     Book.objects.filter(made__time__lt="12:00").count(), Book.objects.filter(made__quarter=2).count()])
    show("arithmetic", rows(Book.objects.annotate(due=models.ExpressionWrapper(
        F("made") + F("span") + datetime.timedelta(days=30), output_field=models.DateTimeField()),
        late=models.ExpressionWrapper(F("made") - MADE, output_field=models.DurationField()))
        .order_by("pk").values_list("due", "late")[:4]))


def of_functions() -> None:
    books = Book.objects.order_by("pk")
    show("texts", rows(books.annotate(
        a=f.Upper("title"), b=f.Length("note"), c=f.Concat("title", Value("/"), "note", output_field=models.TextField()), d=f.Left("title", 3),
        e=f.Substr("title", 7, 2), g=f.LPad("title", 10, Value("*")), h=f.Replace("title", Value("t"), Value("T")),
        i=f.StrIndex("title", Value(" ")), j=f.Reverse("title"), k=f.Trim("note"), m=f.Repeat("title", 2),
        n=f.Right("title", 2)).values_list(*"abcdeghijkmn")[:4]))
    # MySQL 9.7 has no MD5() and SHA1() any more.
    show("digests", rows(books.annotate(a=f.SHA256("title"), b=f.Ord("title"), c=f.Chr(F("pages") + 65))
                         .values_list("a", "b", "c")[:3]))
    show("numbers", rows(books.annotate(
        a=f.Abs(F("weight") - 5), b=f.Ceil("price"), c=f.Floor("price"), d=f.Round("price", 1), e=f.Mod("pages", 7),
        g=f.Power("pages", 2), h=f.Sign(F("weight") - 3), i=f.Greatest("pages", 4), j=f.Least("pages", 4),
        k=f.Coalesce("price", Value(0), output_field=models.DecimalField()), m=f.NullIf("pages", 2),
        n=f.Cast("pages", models.CharField(max_length=5)), o=f.Sqrt("weight")).values_list(*"abcdeghijkmno")[:6]))
    show("comparisons", rows(books.filter(weight__gt=F("pages") / 9, pages__lte=F("author__id") * 40)
                             .values_list("pk")[:5]))
    show("bits", rows(books.annotate(a=F("pages").bitand(6), b=F("pages").bitor(1), c=F("pages").bitleftshift(2))
                      .values_list("a", "b", "c")[:6]))
    show("user", [User.objects.get(username="someone").has_perm("library.view_book"),
                  User.objects.filter(groups__permissions__codename="view_book").count()])
    show("session", SessionStore(session_key="k" * 32).load())


if sys.argv[1] == "write":
    schema()
    write()
of_books()
of_dates()
of_functions()
