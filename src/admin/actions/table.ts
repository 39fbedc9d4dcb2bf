/** All actions of `/api`. A new one is a file and a row here. */
import type { Action } from './action.ts'

export const ACTIONS: readonly Action[] = []
