/** What a route asks of its caller. */

/**
 * `public`: nothing. `user`: to have authenticated. A list: one of these roles (`admin` always
 * may). `asked`: the route itself asks, because it depends on the parameters: `Gate.admit`.
 */
export type RouteAccess = 'public' | 'user' | 'asked' | readonly string[]

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Every route has it; one without cannot be registered. */
    access?: RouteAccess
  }
}
