/** Entry of further event-loop threads of charging (`realtime.listeners`). */
import { eventLoop } from './main.ts'

await eventLoop()
