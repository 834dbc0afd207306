const PRESSED = ['radio', 'checkbox']

/** Whether a key goes into a field, so that it is no shortcut. What is only chosen takes no letters. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement) return !PRESSED.includes(target.type)
  return target.isContentEditable || ['TEXTAREA', 'SELECT'].includes(target.tagName)
}
