echo no
