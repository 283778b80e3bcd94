package dev.isthmus.gateway;

/** The version of this build. */
public final class Version {
    private Version() {}

    /** From the jar's manifest; "dev" where classes are not run from a jar. */
    public static String current() {
        String version = Version.class.getPackage().getImplementationVersion();
        return version == null ? "dev" : version;
    }
}
