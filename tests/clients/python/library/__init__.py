"""The application that django_site.py runs."""
