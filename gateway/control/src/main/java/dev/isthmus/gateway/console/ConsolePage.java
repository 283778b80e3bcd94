package dev.isthmus.gateway.console;

import java.util.Locale;

/** The pages of the console, in the order of its navigation. */
enum ConsolePage {
    OVERVIEW("Overview"),
    MODELS("Models"),
    SERVERS("Servers"),
    /** Only with peers. */
    GATEWAYS("Gateways"),
    TRAFFIC("Traffic"),
    CANARY("Canary"),
    TRY("Try it"),
    CONFIGURATION("Configuration"),
    LIVE("Live"),
    AUDIT("Audit");

    private final String id = name().toLowerCase(Locale.ROOT);
    private final String title;

    ConsolePage(String title) {
        this.title = title;
    }

    /** Its address after {@code #/}, and the name of its module. */
    String id() {
        return id;
    }

    String title() {
        return title;
    }
}
