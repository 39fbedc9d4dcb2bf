/** Choices of the reader that the browser keeps: no data. */
import { effect, signal } from '@preact/signals'
import { LANGUAGES, type Language, setLanguage } from '../words/words.ts'

export const ZONES = ['node', 'utc', 'browser'] as const
export type ZoneChoice = (typeof ZONES)[number]

/** In which zone all times are shown. */
export const zoneChoice = signal<ZoneChoice>(kept('zone', ZONES) ?? 'node')
/** Whether single letters are shortcuts (WCAG 2.1.4: they can be switched off). */
export const hasLetterKeys = signal(kept('keys', ['on', 'off']) !== 'off')

/** Reads the language that was chosen, or that the browser prefers. */
export function startChoices(): void {
  const known = Object.keys(LANGUAGES) as Language[]
  const preferred = navigator.languages.map((each) => each.slice(0, 2))
  const language = kept('language', known) ?? preferred.find((each) => isOneOf(known, each)) ?? 'en'
  if (language !== 'en') void setLanguage(language as Language)
  effect(() => keep('zone', zoneChoice.value))
  effect(() => keep('keys', hasLetterKeys.value ? 'on' : 'off'))
}

export function chooseLanguage(language: Language): void {
  keep('language', language)
  void setLanguage(language)
}

export function nextZone(): void {
  const at = ZONES.indexOf(zoneChoice.peek())
  zoneChoice.value = ZONES[(at + 1) % ZONES.length] ?? 'node'
}

function isOneOf(values: readonly string[], value: string): boolean {
  return values.includes(value)
}

/** A browser may refuse storage; choices then last as long as the page. */
function kept<T extends string>(name: string, values: readonly T[]): T | null {
  try {
    const text = localStorage.getItem(`tollgate.${name}`)
    return values.find((each) => each === text) ?? null
  } catch {
    return null
  }
}

function keep(name: string, value: string): void {
  try {
    localStorage.setItem(`tollgate.${name}`, value)
  } catch {
    // The choice holds until the page is closed.
  }
}
