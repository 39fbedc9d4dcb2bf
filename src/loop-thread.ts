/** Entry of the threads of further event loops of charging (`realtime.listeners`). */
import { eventLoop } from './main.ts'

await eventLoop()
