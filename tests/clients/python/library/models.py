"""Authors, books, loans: most kinds of columns and relations that Django has for MySQL."""

from django.db import models


class Author(models.Model):
    """Who writes."""

    name = models.CharField(max_length=60, db_index=True)
    email = models.EmailField(unique=True, null=True)
    born = models.DateField(null=True)
    active = models.BooleanField(default=True)
    settings = models.JSONField(default=dict)
    country = models.CharField(max_length=2, default="")


class Label(models.Model):
    """A word on books."""

    word = models.SlugField(primary_key=True, max_length=20)


class Book(models.Model):
    """What is lent."""

    id = models.BigAutoField(primary_key=True)
    title = models.CharField(max_length=80, db_comment="as on the cover")
    author = models.ForeignKey(Author, on_delete=models.CASCADE, related_name="books")
    labels = models.ManyToManyField(Label)
    price = models.DecimalField(max_digits=10, decimal_places=2, null=True)
    weight = models.FloatField(default=0.0)
    pages = models.PositiveIntegerField(default=0)
    made = models.DateTimeField()
    at = models.TimeField(null=True)
    span = models.DurationField(null=True)
    raw = models.BinaryField(null=True)
    mark = models.UUIDField(null=True)
    note = models.TextField(blank=True, default="")

    class Meta:
        """Keys."""

        indexes = [models.Index(fields=["author", "-made"], name="of_author")]
        constraints = [models.UniqueConstraint(fields=["title", "author"], name="one_title"),
                       models.CheckConstraint(condition=models.Q(weight__gte=0), name="has_weight")]
