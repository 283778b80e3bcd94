package dev.isthmus.gateway.settings;

import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

@Doc("Access to the API server of Kubernetes, for endpoints 'k8s:NAMESPACE/SERVICE:PORT-NAME' and for 'discover'. The "
        + "defaults are those of a pod.")
public record KubernetesConfig(
        @Doc("URL of the API server; https. Default: from KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT.")
        @Nullable
        String apiServer,

        @Doc("File with the token of a service account. It is read again for each request.")
        @Default("/var/run/secrets/kubernetes.io/serviceaccount/token")
        Path tokenFile,

        @Doc("File with the certificates of the API server's issuers. It is read again when it changes.")
        @Default("/var/run/secrets/kubernetes.io/serviceaccount/ca.crt")
        Path caFile,

        @Doc("Zone of the gateway: endpoints with a hint for it are preferred. Default: from ISTHMUS_ZONE.") @Nullable
        String zone)
        implements CheckedSection {
    @Override
    public void check(SectionCheck check) {
        check.expect(KubernetesConfig::isOrigin, "api_server", "an https URL of host and port is expected", apiServer);
    }

    private static boolean isOrigin(String text) {
        URI url = WebUrl.of(text);
        return url != null
                && url.getScheme().equals("https")
                && List.of("", "/").contains(url.getRawPath())
                && url.getRawQuery() == null
                && url.getRawFragment() == null;
    }
}
