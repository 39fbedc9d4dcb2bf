/** Shortcuts: each is registered by what it acts on, and listed by `?`. */
import { signal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import type { WordKey } from '../words/en.ts'
import { hasLetterKeys } from './choices.ts'

export interface Shortcut {
  /** `x`, `g o` for two keys in a row, or `Control+k`. */
  readonly keys: string
  readonly title: WordKey
  readonly run: () => void
}

/** All that work at present. */
export const shortcuts = signal<readonly Shortcut[]>([])

/** Time for the second key of two, ms. */
const SEQUENCE_MS = 1_500

/** Registers shortcuts while the component is shown. */
export function useShortcuts(own: readonly Shortcut[]): void {
  useLayoutEffect(() => {
    shortcuts.value = [...shortcuts.peek(), ...own]
    return () => {
      shortcuts.value = shortcuts.peek().filter((each) => !own.includes(each))
    }
    // The functions of a shortcut read signals, so the first ones stay right.
  }, [])
}

/** Escape closes what is open, unless it belongs to a field or a dialog. */
export function useEscape(isOpen: boolean, close: () => void): void {
  useLayoutEffect(() => {
    if (!isOpen) return
    const listener = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && !isInField(event) && !isBehindDialog()) close()
    }
    document.addEventListener('keydown', listener)
    return () => document.removeEventListener('keydown', listener)
  }, [isOpen])
}

/** Listens to the keyboard of the page. */
export function startKeys(): void {
  let first = ''
  let timer: ReturnType<typeof setTimeout> | undefined
  document.addEventListener('keydown', (event) => {
    const pressed = nameOf(event)
    if (pressed === null) return
    const sequence = first === '' ? pressed : `${first} ${pressed}`
    clearTimeout(timer)
    first = ''
    const found =
      shortcuts.peek().find(({ keys }) => keys === sequence) ??
      shortcuts.peek().find(({ keys }) => keys === pressed)
    if (found !== undefined) {
      event.preventDefault()
      found.run()
    } else if (shortcuts.peek().some(({ keys }) => keys.startsWith(`${pressed} `))) {
      first = pressed
      timer = setTimeout(() => {
        first = ''
      }, SEQUENCE_MS)
    }
  })
}

/** Null for keys that belong to a field, a dialog or the browser. */
function nameOf(event: KeyboardEvent): string | null {
  const { key, ctrlKey, metaKey, altKey, defaultPrevented } = event
  if (defaultPrevented || altKey || isBehindDialog()) return null
  if (ctrlKey || metaKey) return `Control+${key.toLowerCase()}`
  return isInField(event) || key.length !== 1 || !hasLetterKeys.peek() ? null : key
}

function isInField({ target }: Event): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select') !== null
}

export function isBehindDialog(): boolean {
  return document.querySelector('dialog:modal') !== null
}
