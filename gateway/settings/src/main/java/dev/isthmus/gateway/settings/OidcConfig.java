package dev.isthmus.gateway.settings;

import dev.isthmus.gateway.settings.AdminConfig.AdminRole;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

@Doc(
        "Login to the console with OpenID Connect 1.0: the authorization code flow with PKCE. The session that begins with it "
                + "ends as 'session' says.")
public record OidcConfig(
        @Doc("Issuer of the ID tokens; https, or http on loopback. The provider's metadata are read from below it "
                + "('/.well-known/openid-configuration').")
        @Required
        String issuer,

        @Doc("Identifier of the gateway as a client of the provider.") @Required
        String clientId,

        @Doc(
                "File with the client's secret. Without it the gateway is a public client. The file must not be readable or "
                        + "writable by others, nor writable by its group.")
        @Nullable
        Path clientSecretFile,

        @Doc("URL to which the provider sends the browser back, as registered there; its path is "
                + "'/session/oidc/callback'. Default: that path at the host, and with the scheme, of the request.")
        @Nullable
        String redirectUrl,

        @Doc("Scopes that are asked for beside 'openid'.") @Default({"profile"})
        List<String> scopes,

        @Doc("Claim of the ID token with the operator's name for the audit log.") @Default("sub")
        String nameClaim,

        @Doc("Claim of the ID token with the operator's groups: a list, or text separated by spaces.")
        @Default("groups")
        String groupsClaim,

        @Doc("Role of each group, '*' for everybody who can log in. The highest of an operator counts; without one the "
                + "login is refused.")
        Map<String, AdminRole> roles,

        @Doc("Certificates of the authorities that the provider is verified against, PEM, instead of those of the Java "
                + "runtime. Read for each login.")
        @Nullable
        Path ca)
        implements CheckedSection {
    /** The path of {@link #redirectUrl}. */
    public static final String CALLBACK = "/session/oidc/callback";
    /** The group of everybody. */
    public static final String EVERYBODY = "*";

    /** A scope-token (RFC 6749, 3.3). */
    private static final Pattern SCOPE = Pattern.compile("[!#-\\[\\]-~]+");

    @Override
    public void check(SectionCheck check) {
        check.expect(
                !check.readable("issuer") || (WebUrl.isSecure(issuer) && !issuer.contains("?")),
                "issuer",
                "an https URL without a query, or http on loopback, is expected",
                issuer);
        check.expect(
                OidcConfig::isCallback,
                "redirect_url",
                "an http or https URL with the path " + CALLBACK + " is expected",
                redirectUrl);
        if (check.valid("roles") && roles.isEmpty()) {
            check.problem("roles: at least one group is expected, or nobody could log in");
        }
        scopes.forEach(scope -> check.expect(
                SCOPE.matcher(scope).matches(),
                "scopes",
                "printable ASCII without spaces and quotes is expected",
                scope));
        check.secret("client_secret_file", clientSecretFile);
        check.authorities("ca", ca);
    }

    private static boolean isCallback(String text) {
        URI url = WebUrl.of(text);
        return url != null && CALLBACK.equals(url.getPath()) && url.getQuery() == null && url.getFragment() == null;
    }
}
