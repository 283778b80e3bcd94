/**
 * The console: the page at {@code /} of the admin address, its files, and the documents that only it needs. It shows what
 * other packages know, and changes it through their routes.
 *
 * <p>A page of the console is one ES module {@code ID.js} among the resources of this package, and a constant of {@link
 * dev.isthmus.gateway.console.ConsoleFiles.ConsolePage}. The module exports {@code
 * mount(element)}, which fills the element and returns a function that ends everything it began, or nothing.
 *
 * <ul>
 *   <li>{@code api.js}: {@code get(path)}, {@code post(path, body)} (JSON, with the header that sessions need; they
 *       throw an {@code ApiError} with {@code status} and {@code message}), {@code poll(element, milliseconds, load,
 *       show)}, which calls at most once a second, only while the page is visible, shows errors, and returns what ends
 *       it.
 *   <li>{@code dom.js}: {@code h(tag, attributes, ...children)}: elements; texts only as text nodes.
 *   <li>{@code table.js}: {@code table(columns)}: sorts, filters and updates rows in place.
 *   <li>{@code state.js}: the state of a page, such as a filter, in its address.
 *   <li>{@code session.js}: what the role of the operator allows.
 *   <li>{@code problems.js}: the list of what is wrong now.
 *   <li>{@code format.js}: numbers, durations, bytes, times.
 *   <li>{@code range.js}: the range of charts, and the events in it.
 *   <li>{@code chart.js}: {@code lineChart(options)}: a time series as SVG.
 * </ul>
 *
 * Documents are those of the admin address where it has them ({@code /servers}, {@code /ramps}); else {@code
 * /console/ID}. The policy in {@link dev.isthmus.gateway.console.ConsoleFiles} forbids inline scripts and styles, and
 * anything from elsewhere: classes are in {@code console.css}.
 */
@NullMarked
package dev.isthmus.gateway.console;

import org.jspecify.annotations.NullMarked;
