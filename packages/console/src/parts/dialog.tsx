/** A dialog of the browser: it gets the focus and gives it back. */
import './dialog.css'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { t } from '../words/words.ts'

interface DialogProps {
  readonly title: string
  /** Called by Escape and by the close button. Without it the dialog cannot be closed. */
  readonly onClose?: () => void
  /** At the side of the window, as high as it; the page and its keys stay in use. */
  readonly isDrawer?: boolean
  readonly children: ComponentChildren
}

export function Dialog({ title, onClose, isDrawer = false, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = ref.current
    const before = document.activeElement
    if (isDrawer) dialog?.show()
    else dialog?.showModal()
    return () => {
      dialog?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  const cancel = (event: Event) => {
    event.preventDefault()
    onClose?.()
  }
  // Browsers close a dialog by the second Escape even if the first is prevented.
  const closeByEscape = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return
    event.preventDefault()
    event.stopPropagation()
    onClose?.()
  }
  return (
    <dialog
      ref={ref}
      class={isDrawer ? 'dialog drawer' : 'dialog'}
      aria-labelledby={id}
      onCancel={cancel}
      onKeyDown={closeByEscape}
    >
      <div class="head">
        <h2 id={id}>{title}</h2>
        {onClose && (
          <button type="button" class="plain" onClick={onClose}>
            {t('dialog.close')}
          </button>
        )}
      </div>
      {children}
    </dialog>
  )
}
