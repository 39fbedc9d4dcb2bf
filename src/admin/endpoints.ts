/** Every endpoint that is neither an action nor of the entity API, by family. */
import { CLOCK_ENDPOINTS } from './clock/routes.ts'
import type { EndpointDescription } from './http/endpoint.ts'

export const ENDPOINTS = {
  clock: CLOCK_ENDPOINTS,
} satisfies Record<string, readonly EndpointDescription[]>
