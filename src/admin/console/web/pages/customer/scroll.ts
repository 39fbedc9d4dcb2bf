/** Back to a list shows it where it was left. */
import { useEffect } from 'preact/hooks'

const positions = new Map<string, number>()
const POSITIONS_MAX = 50
let isWayBack = false

window.addEventListener('popstate', () => {
  isWayBack = true
})

/** Restores the position of this address once its rows are there. */
export function useKeptScroll(isThere: boolean): void {
  const { hash } = window.location
  useEffect(() => {
    if (!isThere) return
    const kept = positions.get(hash)
    if (isWayBack && kept !== undefined) window.scrollTo({ top: kept })
    isWayBack = false
    const keep = () => {
      if (window.location.hash !== hash) return
      positions.delete(hash)
      positions.set(hash, window.scrollY)
      for (const first of positions.keys()) {
        if (positions.size <= POSITIONS_MAX) break
        positions.delete(first)
      }
    }
    window.addEventListener('scroll', keep, { passive: true })
    return () => window.removeEventListener('scroll', keep)
  }, [hash, isThere])
}
