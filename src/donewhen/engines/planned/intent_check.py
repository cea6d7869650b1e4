"""Detects intents without an observable goal, such as "fix it", so that a person is asked.

No I/O. The check is cautious: an intent is vague only if all its words are vague in one language. One word that names
something is enough to start the work, and so is a language that is not listed here.
"""

import re

MISSING = (
    "the intent names no observable change: name the command, file, output or behaviour that should change, and how"
)
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
SIGN = re.compile(r"[+*<>=|%$@^~`\\]|&&|--")
"""An intent with one of these characters means something specific."""
LONGEST = 200
"""A longer intent is never vague."""

EVERYWHERE = "app bug bugs code ok please project repo software todo"
VAGUE = {
    "en": (
        "a about again all already an and any anything application apply are asap around as at be been best"
        " better broken can change changes clean cleaner cleanup codebase complete completed correct correctly"
        " could do does doesn't done don't enhance error errors every everything faster finally finish"
        " finished fix fixed fixes fixing for from get go good great happen handle hello help here hey hi i"
        " i'd if implement improve improved improvement improvements improving in into is issue issues it it's"
        " its job just kindly let let's like little look looks lot made make makes making maybe me more must"
        " my need needs nice nicer nothing now of off on one ones optimise optimize our out over perfect"
        " performance pls polish prettier problem problems program proper properly quality quick quickly"
        " really refactor refactoring repair repository resolve rewrite right should so solve some something"
        " somehow start stuff sure system task task's than thank thanks that that's the their them then there"
        " these they thing things this those tidy to too tweak up update us use very want was way we well what"
        " whatever when where which will with without work working works would wrong you your"
    ),
    "de": (
        "aber alle allem alles an anwendung auf aufräumen bau baue bearbeite behebe beheben besser bessere"
        " beste bitte das dass dem den der des die diese diesen dieses doch ein eine einen einfach endlich er"
        " erledige es etwas fehler fertig fix fixe funktioniert ganz geht gut hier ihn im in ist jetzt kaputt"
        " korrigiere lauft läuft lös löse mach mache machen mal mehr mein meine mir nicht noch optimiere"
        " problem probleme programm projekt räum räume repariere reparieren richtig sache sachen schneller"
        " schön schöner sie so soll stimmt tu überarbeite um und uns verbessere verbessern was weiter wieder"
        " wird zum"
    ),
    "fr": (
        "améliore améliorer améliorez application au aux bien bogue ça ce cela ces cette chose choses corrige"
        " corriger corrigez de des du en erreur erreurs et fais faire faites fonctionne fonctionner il la le"
        " les marche marcher mieux mon ne nettoie nettoyer optimise optimiser pas plaît problème problèmes"
        " programme projet que répare réparer réparez résous s'il sil svp tout toute un une vite vous"
    ),
    "es": (
        "ahora algo aplicación arregla arreglalo arréglalo arreglar código corrige corrígelo cosa cosas de"
        " del el error errores esta este esto favor funcione haz hazlo la las lo los mejor mejora mejóralo"
        " mejorar mi optimiza problema problemas programa proyecto por que repara todo todos un una y"
    ),
    "pt": (
        "a agora algo aplicativo arruma arrume as código coisa coisas conserta conserte corrige corrija de do"
        " erro erros esse este faça favor faz funcionar isso isto melhor melhora melhore melhorar meu o os"
        " otimize por problema problemas programa projeto que resolva resolve tudo um uma"
    ),
    "it": (
        "aggiusta aggiustalo codice correggi correggilo cosa cose di errore errori fa fai fallo favore"
        " funzionare funzioni gli i il la le lo meglio migliora miglioralo migliorare ottimizza per piacere"
        " problema problemi programma progetto questo ripara risolvi sistema sistemalo tutto un una"
    ),
    "nl": (
        "alles alsjeblieft beter de deze die dit doe een en fout fouten graag het iets maak mijn nu op"
        " opruimen probleem problemen programma repareer verbeter werken werkend werkt"
    ),
    "pl": "błąd błędy kod lepiej napraw popraw posprzątaj problem program proszę projekt to wszystko zrób ten",
    "ru": (
        "баг баги бы всё все его ещё исправить исправь исправьте код кода лучше мне моё надо нормально оно"
        " ошибка ошибки ошибку пожалуйста починить почини почините приложение проблема проблему проблемы"
        " программу проект работало сделай сделайте сделать улучши улучшить чтобы это этот"
    ),
    "tr": (
        "bunu daha düzelt geliştir hata hatayı hataları iyi iyileştir kodu lütfen onar projeyi sorunu şunu temizle yap"
    ),
}
UNSPACED = (
    "修复一下", "修复", "修一下", "修好", "优化一下", "优化", "改进", "改善", "改一下", "完善", "整理",
    "清理", "代码", "程序", "项目", "问题", "错误", "这个", "它", "请", "帮我", "让", "更好", "好一点",
    "一下", "把", "的", "吧", "バグ", "コード", "問題", "エラー", "直して", "修正して", "修正", "改善して",
    "改善", "整理して", "これを", "これ", "それ", "を", "の", "もっと", "良く", "よく", "して", "ください",
    "お願いします", "고쳐줘", "고쳐", "고치기", "버그", "코드", "문제", "오류", "수정해줘", "수정",
    "개선해줘", "개선", "정리해줘", "정리", "이거", "이것", "해줘", "좀", "더", "좋게", "를", "을",
)  # fmt: skip
"""Pieces that are removed, for languages that do not separate words or that change word endings."""
LANGUAGES = [frozenset(f"{EVERYWHERE} {words}".split()) for words in VAGUE.values()]
PIECES = re.compile("|".join(sorted(UNSPACED, key=len, reverse=True)))


def what_is_missing(intent: str) -> str:
    """Return an empty string for a usable intent; otherwise one line that says what is missing."""
    if SIGN.search(intent) or len(intent.strip()) > LONGEST:
        return ""
    words = WORD.findall(PIECES.sub(" ", intent.lower().replace("’", "'")))
    is_vague = any(all(word in vague for word in words) for vague in LANGUAGES)
    return MISSING if is_vague else ""
