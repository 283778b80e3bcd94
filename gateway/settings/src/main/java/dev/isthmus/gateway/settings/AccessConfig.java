package dev.isthmus.gateway.settings;

import java.util.List;
import java.util.Map;
import java.util.Set;

@Doc("Who may do what on which models. With this section, whatever no rule allows is refused with 403.")
public record AccessConfig(
        @Doc("Rules that allow something, in any order.") @NotEmpty
        List<AccessRule> rules) {

    /**
     * A rule.
     *
     * @param models names and patterns, as clients request them; empty for all
     * @param versions as clients request them; empty for all, and for requests without a version
     */
    public record AccessRule(
            @Doc("Name in explanations and logs.") @Required String name,

            Callers who,

            @Doc("What these callers may do.") @NotEmpty Set<Permission> may,

            @Doc("Names of models as clients request them; * matches any text. Default: all, and the server itself.")
            List<String> models,

            @Doc("Versions or labels as clients request them. Default: all, and requests without a version.")
            List<String> versions)
            implements CheckedSection {

        @Override
        public void check(SectionCheck check) {
            if (check.valid() && !versions.isEmpty() && may.stream().anyMatch(Permission::management)) {
                check.problem(
                        "versions",
                        "load, trace, log and shared_memory name no version; a rule of their own is expected");
            }
        }

        @Override
        public String label(String path) {
            return path + " '" + name + "'";
        }
    }

    @Doc("The callers: those that fulfil every given condition. Without conditions: everybody.")
    public record Callers(
            @Doc("Names of callers.") List<String> names,

            @Doc("Groups; a caller is in one of them.") List<String> groups,

            @Doc("Claims of the caller's token with the expected value, or one of the values if the claim is a list.")
            Map<String, String> claims,

            @Doc("Subject alternative names of the certificate by which the caller is identified.")
            List<String> sans,

            @Doc("How the caller is identified: none, api_key, jwt, certificate.")
            Set<IdentifiedBy> identifiedBy,

            @Doc("Listeners by name, or HOST:PORT of those without one.")
            List<String> listeners) {
        /** Whether a condition can only be fulfilled by callers that are identified. */
        boolean needIdentity() {
            return !names.isEmpty() || !groups.isEmpty() || !claims.isEmpty() || !sans.isEmpty();
        }
    }

    /** How a caller is identified. */
    public enum IdentifiedBy {
        /** Not at all. */
        NONE,
        API_KEY,
        JWT,
        CERTIFICATE
    }
}
