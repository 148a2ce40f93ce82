# Levee's two images. `web` runs the web process, the light worker, the dispatcher and `prepare`; `spark` the workers on Spark.
# A third, `store`, is an object store for those who have none. docker-compose.yml builds all; docs/operating.md, "Containers", says how they are run.

FROM python:3.11-slim-bookworm AS base
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /opt/levee

# What is installed hangs on these files alone, so that a change of the code installs nothing again.
FROM base AS packages
COPY requirements requirements
COPY console/__init__.py console/
COPY console/setup console/setup
RUN python3 -m console.setup --for web-packages

FROM packages AS pages
COPY frontend frontend
COPY console console
COPY tables tables
COPY jobs jobs
COPY manage.py pyproject.toml ./
COPY docs docs
# Files keep the modes of the checkout that they come from, which may be closed to others, as the images' user is one.
RUN python3 -m console.setup --for pages && chmod -R u=rwX,go=rX frontend/collected frontend/help

FROM base AS code
COPY LICENSE manage.py pyproject.toml ./
COPY console console
COPY tables tables
COPY jobs jobs
COPY frontend/templates frontend/templates
COPY requirements requirements
RUN python3 -m compileall -q console tables jobs && chmod -R u=rwX,go=rX .

FROM base AS runtime
RUN groupadd --gid 10001 levee \
 && useradd --uid 10001 --gid levee --no-create-home --home-dir /var/lib/levee --shell /usr/sbin/nologin levee \
 && install -d -o levee -g levee -m 700 /var/lib/levee \
 && install -d -o levee -g levee -m 755 /lake
ENV PATH=/opt/levee/.venv/bin:$PATH LEVEE_HOME=/var/lib/levee
ENTRYPOINT ["/opt/levee/.venv/bin/python", "manage.py"]

FROM runtime AS web
COPY --from=packages /opt/levee/.venv .venv
COPY --from=pages /opt/levee/frontend/collected frontend/collected
COPY --from=pages /opt/levee/frontend/help frontend/help
COPY --from=code /opt/levee ./
USER levee
EXPOSE 8000
CMD ["serve", "web", "--bind", "0.0.0.0:8000"]

FROM packages AS spark-packages
RUN apt-get update \
 && apt-get install -y --no-install-recommends openjdk-17-jre-headless \
 && rm -rf /var/lib/apt/lists/*
RUN python3 -m console.setup --for spark-packages

FROM runtime AS spark
RUN apt-get update \
 && apt-get install -y --no-install-recommends openjdk-17-jre-headless procps \
 && rm -rf /var/lib/apt/lists/*
COPY --from=spark-packages /opt/levee/.venv .venv
COPY --from=spark-packages /opt/levee/.tools/jars .tools/jars
COPY --from=code /opt/levee ./
USER levee
CMD ["serve", "spark"]

# One small program with Apache's licence that speaks S3 and keeps objects as the files that they are. It runs as another user than root, to
# whom its directory must belong: a new volume takes that from the image.
FROM versity/versitygw:v1.8.0 AS store
RUN mkdir -m 700 /data && chown 10001:10001 /data
USER 10001:10001
ENTRYPOINT ["/bin/sh", "-c"]
