/** German, loaded on demand. */
import { FRAME } from './de/frame.ts'
import { OVERVIEW } from './de/overview.ts'
import type { Words } from './en.ts'

export const DE: Words = { ...FRAME, ...OVERVIEW }
