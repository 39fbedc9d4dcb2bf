/** How V8 treats objects that live as long as a request. */
import { setFlagsFromString } from 'node:v8'

/**
 * Makes V8 allocate all objects as young ones. Otherwise it observes at the start which objects
 * survive: those of requests, which wait longer then. It would allocate these as old ones from then
 * on, and everything they refer to would stay until the next collection of the whole heap: with
 * Diameter 3.8 KB of the 13 KB that a request allocates on the main thread.
 */
export function keepRequestsYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}
