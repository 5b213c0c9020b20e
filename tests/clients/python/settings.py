"""The site: Django's own applications with tables, and the library."""

import os

SECRET_KEY = "only a test"
USE_TZ = True
TIME_ZONE = "UTC"
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions",
                  "library"]
DATABASES = {"default": {
    "ENGINE": "django.db.backends.mysql", "HOST": os.environ["PELORUS_HOST"],
    "PORT": os.environ["PELORUS_PORT"], "USER": os.environ["PELORUS_USER"],
    "PASSWORD": os.environ["PELORUS_PASSWORD"], "NAME": os.environ["PELORUS_DATABASE"],
    "OPTIONS": {"charset": "utf8mb4"}}}
SILENCED_SYSTEM_CHECKS = ["models.W045"]
