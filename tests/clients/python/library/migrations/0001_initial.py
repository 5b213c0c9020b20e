"""The first tables, as `manage.py makemigrations` writes them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Author',
            fields=[
                ('id', models.AutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(db_index=True, max_length=40)),
                ('email', models.EmailField(max_length=254, null=True, unique=True)),
                ('born', models.DateField(null=True)),
                ('active', models.BooleanField(default=True)),
                ('settings', models.JSONField(default=dict)),
            ],
        ),
        migrations.CreateModel(
            name='Label',
            fields=[
                ('word', models.SlugField(max_length=20, primary_key=True, serialize=False)),
            ],
        ),
        migrations.CreateModel(
            name='Book',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('title', models.CharField(db_comment='as on the cover', max_length=80)),
                ('price', models.DecimalField(decimal_places=2, max_digits=10, null=True)),
                ('weight', models.FloatField(default=0.0)),
                ('pages', models.PositiveIntegerField(default=0)),
                ('made', models.DateTimeField()),
                ('at', models.TimeField(null=True)),
                ('span', models.DurationField(null=True)),
                ('raw', models.BinaryField(null=True)),
                ('mark', models.UUIDField(null=True)),
                ('remark', models.TextField(blank=True, default='')),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='books', to='library.author')),
                ('labels', models.ManyToManyField(to='library.label')),
            ],
            options={
                'indexes': [models.Index(fields=['author', '-made'], name='of_author')],
                'constraints': [models.UniqueConstraint(fields=('title', 'author'), name='one_title'), models.CheckConstraint(condition=models.Q(('weight__gte', 0)), name='has_weight')],
            },
        ),
    ]
