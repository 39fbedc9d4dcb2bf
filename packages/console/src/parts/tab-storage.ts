/** The storage of the tab: only for writes whose outcome is not known (pending.ts). */
import type { Kept } from './pending.ts'

/** Without storage a pending write lasts as long as the page. */
const memory = new Map<string, string>()

const ofPage: Kept = {
  getItem: (name) => memory.get(name) ?? null,
  setItem: (name, text) => void memory.set(name, text),
  removeItem: (name) => void memory.delete(name),
}

export function tabStorage(): Kept {
  try {
    return window.sessionStorage
  } catch {
    return ofPage
  }
}
