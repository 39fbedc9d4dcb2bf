/** German, loaded on demand. */
import { FRAME } from './de/frame.ts'
import type { Words } from './en.ts'

export const DE: Words = { ...FRAME }
