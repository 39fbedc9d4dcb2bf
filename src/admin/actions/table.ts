/** All actions of `/api`. A new one is a file and a row here. */
import type { Action } from './action.ts'
import { CARDS } from './cards.ts'
import { CHARGE } from './charge.ts'
import { CHARGE_STATUS } from './chargestatus.ts'

export const ACTIONS: readonly Action[] = [CARDS, CHARGE, CHARGE_STATUS]
