/** All texts in English; the keys of other languages are these. One file per page in `en/`. */
import { FRAME } from './en/frame.ts'
import { OVERVIEW } from './en/overview.ts'

export const EN = { ...FRAME, ...OVERVIEW } as const

export type WordKey = keyof typeof EN
export type Words = Readonly<Record<WordKey, string>>
