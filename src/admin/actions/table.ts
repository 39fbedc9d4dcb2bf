/** All actions of `/api`. A new one is a file and a row here. */
import type { Action } from './action.ts'
import { bulkcredit } from './bulkcredit.ts'
import { credit } from './credit.ts'

export const ACTIONS: readonly Action[] = [credit, bulkcredit]
