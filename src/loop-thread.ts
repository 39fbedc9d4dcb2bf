/** Entry of further event-loop threads of charging (`realtime.listeners`). */
import { eventLoop } from './roles.ts'

await eventLoop()
