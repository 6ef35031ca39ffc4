{{- /* Prints an object with the chart's labels and the overrides for it. Takes `root` and `object`. */ -}}
{{- define "perdure.print" -}}
{{- $labels := dict "app.kubernetes.io/managed-by" .root.Release.Service "app.kubernetes.io/instance" .root.Release.Name
  "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version) -}}
{{- $object := mergeOverwrite (dict) .object (dict "metadata" (dict "namespace" .root.Release.Namespace "labels" $labels)) -}}
{{- $over := index .root.Values.overrides (printf "%s/%s" .object.kind .object.metadata.name) | default dict -}}
{{- toYaml (mergeOverwrite $object (deepCopy $over)) }}
{{- end }}

{{- /* The settings: base/settings.env, what follows from the ingress, then the values. */ -}}
{{- define "perdure.settings" -}}
{{- $settings := dict -}}
{{- range .Files.Lines "base/settings.env" }}
{{- $pair := splitn "=" 2 . }}
{{- if and (hasPrefix "PERDURE_" .) (contains "=" .) }}{{ $_ := set $settings $pair._0 $pair._1 }}{{ end }}
{{- end }}
{{- if .Values.ingress.enabled }}
{{- $_ := set $settings "PERDURE_ALLOWED_HOSTS" .Values.ingress.host }}
{{- $_ := set $settings "PERDURE_PUBLIC_URL" (printf "https://%s/mcp" .Values.ingress.host) }}
{{- end }}
{{- range $name, $value := .Values.settings }}
{{- $_ := set $settings $name (kindIs "float64" $value | ternary (printf "%.0f" $value) (toString $value)) }}
{{- end }}
{{- toYaml $settings }}
{{- end }}

{{- define "perdure.deployment" -}}
{{- $values := .root.Values -}}
{{- $role := index .object.metadata.labels "app.kubernetes.io/component" -}}
{{- $of := index $values $role -}}
{{- $template := .object.spec.template -}}
{{- $container := first $template.spec.containers -}}
{{- $tag := $values.image.tag | default .root.Chart.AppVersion -}}
{{- $version := printf ":%s" $tag -}}
{{- with $values.image.digest }}{{ $version = printf "@%s" . }}{{ end -}}
{{- $_ := set $container "image" (print $values.image.repository $version) -}}
{{- with $values.image.pullPolicy }}{{ $_ := set $container "imagePullPolicy" . }}{{ end -}}
{{- range $values.image.pullSecrets }}
{{- $_ := set $template.spec "imagePullSecrets" (append ($template.spec.imagePullSecrets | default list) (dict "name" .)) }}
{{- end -}}
{{- with $of.resources }}{{ $_ := set $container "resources" . }}{{ end -}}
{{- range $container.env }}
{{- if eq .name "PERDURE_REDIS_URL" }}{{ $_ := set .valueFrom "secretKeyRef" (dict "name" $values.redis.secretName "key" $values.redis.urlKey) }}{{ end }}
{{- if eq .name "PERDURE_SECRET" }}{{ $_ := set .valueFrom "secretKeyRef" (dict "name" $values.seal.secretName "key" $values.seal.keysKey) }}{{ end }}
{{- end -}}
{{- with $of.env }}{{ $_ := set $container "env" (concat $container.env .) }}{{ end -}}
{{- if ne $of.replicas nil }}{{ $_ := set .object.spec "replicas" ($of.replicas | int) }}{{ end -}}
{{- if and (eq $role "worker") $values.worker.autoscaling }}{{ $_ := unset .object.spec "replicas" }}{{ end -}}
{{- /* A changed setting rolls the pods. */ -}}
{{- $_ := set $template.metadata "annotations" (dict "checksum/settings" (toYaml .settings | sha256sum)) -}}
{{- include "perdure.print" . }}
{{- end }}

{{- define "perdure.horizontalpodautoscaler" -}}
{{- $of := index .root.Values (index .object.metadata.labels "app.kubernetes.io/component") -}}
{{- with $of.minReplicas }}{{ $_ := set $.object.spec "minReplicas" (int .) }}{{ end -}}
{{- with $of.maxReplicas }}{{ $_ := set $.object.spec "maxReplicas" (int .) }}{{ end -}}
{{- include "perdure.print" . }}
{{- end }}

{{- define "perdure.scaledobject" -}}
{{- $of := .root.Values.worker -}}
{{- with $of.minReplicas }}{{ $_ := set $.object.spec "minReplicaCount" (int .) }}{{ end -}}
{{- with $of.maxReplicas }}{{ $_ := set $.object.spec "maxReplicaCount" (int .) }}{{ end -}}
{{- $trigger := (first .object.spec.triggers).metadata -}}
{{- $_ := set $trigger "query" (replace "namespace=\"perdure\"" (printf "namespace=%q" .root.Release.Namespace) $trigger.query) -}}
{{- with $of.prometheusUrl }}{{ $_ := set $trigger "serverAddress" . }}{{ end -}}
{{- include "perdure.print" . }}
{{- end }}

{{- define "perdure.networkpolicy" -}}
{{- if and (eq .object.metadata.name "perdure-to-redis") .root.Values.redis.peers }}
{{- $_ := set .object.spec "egress" (list (dict "to" .root.Values.redis.peers "ports" (list (dict "port" (int .root.Values.redis.port))))) }}
{{- end -}}
{{- include "perdure.print" . }}
{{- end }}

{{- define "perdure.ingress" -}}
{{- $of := .root.Values.ingress -}}
{{- $_ := set .object.spec "ingressClassName" $of.className -}}
{{- $_ := set .object.spec "tls" (list (dict "hosts" (list $of.host) "secretName" $of.tlsSecretName)) -}}
{{- $_ := set (first .object.spec.rules) "host" $of.host -}}
{{- $_ := set .object.metadata "annotations" (mergeOverwrite .object.metadata.annotations $of.annotations) -}}
{{- include "perdure.print" . }}
{{- end }}

{{- define "perdure.servicemonitor" -}}
{{- $_ := set .object.metadata "labels" (mergeOverwrite .object.metadata.labels .root.Values.monitoring.labels) -}}
{{- include "perdure.print" . }}
{{- end }}

{{- define "perdure.service" }}{{ include "perdure.print" . }}{{ end }}
{{- define "perdure.serviceaccount" }}{{ include "perdure.print" . }}{{ end }}
{{- define "perdure.poddisruptionbudget" }}{{ include "perdure.print" . }}{{ end }}
