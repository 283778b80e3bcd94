package dev.isthmus.gateway.settings;

import java.time.Duration;
import java.util.List;

@Doc("Web pages of other origins that may use this listener (CORS). Without this section browsers refuse them.")
public record CorsConfig(
        @Doc("Origins of the pages: scheme://host, with :port if it is not the scheme's own; a host *.SUFFIX stands"
                + " for all hosts below it, a port * for any, and * alone for all origins.")
        @Required
        @NotEmpty
        List<OriginPattern> origins,

        @Doc("Request headers that pages may set, in addition to those that the gateway reads.") @HeaderName
        List<String> headers,

        @Doc("Response headers that pages may read, in addition to those of the gateway.") @HeaderName
        List<String> exposedHeaders,

        @Doc("Time for which browsers may keep the answer to a preflight request.") @OrZero @Default("10m")
        Duration maxAge,

        @Doc("Whether pages may send cookies and client certificates. Not with the origin *.")
        boolean credentials)
        implements CheckedSection {

    @Override
    public void check(SectionCheck check) {
        check.expect(
                !check.valid() || !credentials || origins.stream().noneMatch(OriginPattern::isAll),
                "credentials",
                "false is expected with the origin *, as any page could act for the user",
                credentials);
    }
}
