/** The storage of the tab: only for a top-up whose outcome is not known (pending-top-up.ts). */
import type { Kept } from './pending-top-up.ts'

/** Without storage a pending top-up lasts as long as the page. */
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
