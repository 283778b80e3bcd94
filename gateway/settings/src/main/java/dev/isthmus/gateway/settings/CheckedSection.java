package dev.isthmus.gateway.settings;

/** A section whose values must fit each other, or files. */
interface CheckedSection {

    /** Reports what is wrong with the section, after the whole file was read; what is in it checks itself. */
    void check(SectionCheck check);

    /**
     * The section's name in messages.
     *
     * @param path of its keys: "access: rule"
     */
    default String label(String path) {
        return path;
    }
}
