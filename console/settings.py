"""Django's settings. What differs between instances comes from `console.base.env`."""

from __future__ import annotations

from typing import Any

from console.base.env import BASE_DIR, Env
from console.base.logs import logging_config

ENV = Env.read()

SECRET_KEY = ENV.secret_key
DEBUG = False
ALLOWED_HOSTS = ENV.hosts
CSRF_TRUSTED_ORIGINS = [ENV.public_origin] if ENV.public_origin else []
FORCE_SCRIPT_NAME = ENV.prefix or None
ROOT_URLCONF = "console.urls"
WSGI_APPLICATION = "console.wsgi.application"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django.contrib.postgres",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "csp",
    "console",
    "console.accounts",
    "console.audit",
    "tables",
    "jobs",
]

MIDDLEWARE = [
    "console.metrics.requests.RequestsCounted",
    "console.base.headers.NothingIsKept",
    "console.base.headers.OwnAddress",
    "console.base.compression.PagesCompressed",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "console.base.unavailable.DatabaseDownMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "console.base.logs.RequestLogMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "console.base.text.invisible_characters.InvisibleSpelledOut",  # before the length is known
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "console.accounts.middleware.SenderKnown",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "console.audit.middleware.RefusalsOnRecord",
    "console.base.errors.BodyLimitMiddleware",
    "console.accounts.middleware.SignInRequired",
    "console.base.errors.ProblemMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "frontend" / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "console.pages.home.frame.chrome",
                "console.pages.find.places.navigation",
            ],
            "builtins": ["console.templatetags.levee", "console.templatetags.help"],
        },
    }
]

_DATABASE: dict[str, Any] = {
    "ENGINE": "django.db.backends.postgresql",
    "CONN_MAX_AGE": 300,
    "CONN_HEALTH_CHECKS": True,
    "ATOMIC_REQUESTS": False,
    "OPTIONS": {},
}


def _database(role: str) -> dict[str, Any]:
    """Queries here are many and short: to compile one takes longer than to run it."""
    settings = {**_DATABASE, **ENV.database(role)}
    options = settings["OPTIONS"]
    return {**settings, "OPTIONS": {**options, "options": f"-c jit=off {options.get('options', '')}".rstrip()}}


DATABASES = {"default": _database("levee_app"), "admin": _database("levee_migrate")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "accounts.Person"
SILENCED_SYSTEM_CHECKS = [
    "auth.E003",  # Person.name is unique: by a constraint on lower(name), which the check misses
    "security.W005",  # HSTS for this host alone: its subdomains are others' to decide about
    "security.W021",
    *(
        ["security.W008"] if ENV.is_https else []
    ),  # the proxy redirects: Levee listens on 127.0.0.1, out of reach for others
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
    {"NAME": "console.accounts.sign_in.passwords.MonotonousPasswordValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("name",)},
    },
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
LOGIN_URL = "accounts:sign_in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "accounts:sign_in"
SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = ENV.is_https
# Two homes on one host share its cookie jar, ports notwithstanding: each home has cookies of its own.
# A browser takes a cookie of such a name over TLS alone, and one of __Host- for this very host and all of its paths.
_OWN = "" if not ENV.is_https else "__Secure-" if ENV.prefix else "__Host-"
SESSION_COOKIE_NAME = f"{_OWN}levee_session_{ENV.port}"
CSRF_COOKIE_NAME = f"{_OWN}levee_csrf_{ENV.port}"
DEVICE_COOKIE_NAME = f"{_OWN}levee_device_{ENV.port}"
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = f"{ENV.prefix}/"
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "console.accounts.sign_in.expired_forms.csrf_failure"

SECURE_PROXY_SSL_HEADER = None  # trust no header: LEVEE_PUBLIC_URL determines what browsers speak
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if ENV.is_https else 0
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# Below a path, other applications share the origin: what a page loads and sends then stays below the path.
_STATIC = f"{ENV.public_url}/static/" if ENV.prefix else "'self'"
_PAGES = f"{ENV.public_url}/" if ENV.prefix else "'self'"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": [_STATIC],
        "style-src": [_STATIC],
        "img-src": [_STATIC],
        "font-src": [_STATIC],
        "connect-src": [_PAGES],
        "form-action": [_PAGES],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
    }
}
if ENV.prefix:  # the cookie of Django's usual storage would be sent to the whole host
    MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024  # console.connections reads no more either

LANGUAGE_CODE = "en-us"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = f"{ENV.prefix}/static/"
STATIC_ROOT = BASE_DIR / "frontend" / "collected"
# What the apps bring is for pages that Levee doesn't have: browsers of an API, of its schema.
STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
STATICFILES_DIRS = [BASE_DIR / "frontend" / "dist", ("levee/help", BASE_DIR / "frontend" / "help" / "pictures")]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

LOGGING_CONFIG = None
LOGGING = logging_config(ENV.home)

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "console.accounts.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["console.accounts.permissions.Declared"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["console.base.rest.StrictJSON"],
    "URL_FORMAT_OVERRIDE": None,  # `format` narrows the list of tables; it never chooses a renderer
    "DEFAULT_SCHEMA_CLASS": "console.accounts.openapi.DeclaredSchema",
    "EXCEPTION_HANDLER": "console.base.errors.problem_handler",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Levee",
    "VERSION": "1",
    "DESCRIPTION": "The console for lakehouse tables, as an API.",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVERS": [{"url": ENV.public_url}] if ENV.prefix else [],
    "ENUM_NAME_OVERRIDES": {
        "SignInState": "console.pages.people.sign_ins_api.STATES",
        "TableClass": "jobs.web.parts.CLASSES",
        "TableFormat": "tables.models.Table.Format",
        "WorkerKind": "jobs.models.Worker.Kind",
    },
    "POSTPROCESSING_HOOKS": ["drf_spectacular.hooks.postprocess_schema_enums", "console.base.openapi.add_problems"],
}
