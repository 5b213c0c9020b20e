"""A column more, one that is longer, one with another name, and rows that are changed."""

from django.db import migrations, models


def fill(apps, schema_editor):
    """Changes rows, as migrations of data do."""
    apps.get_model("library", "Author").objects.filter(country="").update(country="gb")


class Migration(migrations.Migration):
    """The second step."""

    dependencies = [("library", "0001_initial")]

    operations = [
        migrations.AddField("author", "country", models.CharField(max_length=2, default="")),
        migrations.AlterField("author", "name", models.CharField(max_length=60, db_index=True)),
        migrations.RenameField("book", "remark", "note"),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
